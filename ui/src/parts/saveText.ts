/** Gives the reader a file. */
export function saveText(name: string, text: string, kind = "text/csv;charset=utf-8"): void {
  const address = URL.createObjectURL(new Blob([text], { type: kind }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
