/** Options that all have a value. `Required` would allow an explicit undefined. */
export type Resolved<Options> = { readonly [Name in keyof Options]-?: Exclude<Options[Name], undefined> };
