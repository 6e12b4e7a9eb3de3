// Reads the text of a server-sent event stream, however it is cut into chunks.

export interface Message {
  event: string;
  id: string;
  data: string;
}

/** Gives back a function that takes the next chunk and answers the messages that it completes. */
export function messageReader(): (chunk: string) => Message[] {
  let rest = "";
  return (chunk) => {
    const blocks = (rest + chunk).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop() ?? "";
    return blocks.map(parseBlock).filter((message) => message !== null);
  };
}

function parseBlock(block: string): Message | null {
  const message: Message = { event: "message", id: "", data: "" };
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const [name, value] = splitField(line);
    if (name === "data") data.push(value);
    else if (name === "event") message.event = value;
    else if (name === "id") message.id = value;
  }
  message.data = data.join("\n");
  return data.length > 0 || message.id !== "" || message.event !== "message" ? message : null;
}

function splitField(line: string): [string, string] {
  const colon = line.indexOf(":");
  if (colon < 0) return [line, ""];
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
}
