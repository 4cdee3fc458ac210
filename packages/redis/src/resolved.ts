/** Options of which each has its value. `Required` would leave an explicit undefined. */
export type Resolved<Options> = { readonly [Name in keyof Options]-?: Exclude<Options[Name], undefined> };
