/** A promise that the test settles itself. */
export interface Gate<T = void> {
  readonly passed: Promise<T>;
  open(value: T): void;
  fail(error: Error): void;
}

export function gate<T = void>(): Gate<T> {
  let open!: (value: T) => void;
  let fail!: (error: Error) => void;
  const passed = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { passed, open, fail };
}
