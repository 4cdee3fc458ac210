/** The globals that `reader.js` gives to the preludes and hidden checks of a page. */
declare const assert: {
  ok(value: unknown, text?: string): void;
  deepEqual(found: unknown, wanted: unknown): void;
};
/** The members that checks read. */
interface ApiAnswer {
  readonly id: string;
  readonly items: readonly { readonly lease: string }[];
}
declare const printed: unknown[][];
declare function api(method: string, path: string, body?: unknown): Promise<ApiAnswer>;
declare function until(condition: () => unknown): Promise<void>;
