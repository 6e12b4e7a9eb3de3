// The English sentences are the measure: every other language must have exactly their keys.

import type { en } from "./en";

type Texts<T> = { [Key in keyof T]: T[Key] extends string ? string : Texts<T[Key]> };

export type Sentences = Texts<typeof en>;
