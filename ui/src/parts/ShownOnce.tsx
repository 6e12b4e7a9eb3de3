// A secret at the only moment at which it can be seen.

import { Command } from "./Command";

export function ShownOnce({ label, text }: { label: string; text: string }) {
  return (
    <section className="notice once">
      <p>{label}</p>
      <Command label={label} text={text} />
    </section>
  );
}
