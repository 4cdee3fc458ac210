/** A promise that a test resolves or rejects itself. */
export interface Gate<Value = void> {
  readonly passed: Promise<Value>;
  open(value: Value): void;
  fail(error: Error): void;
}

export function gate<Value = void>(): Gate<Value> {
  let open!: (value: Value) => void;
  let fail!: (error: Error) => void;
  const passed = new Promise<Value>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { passed, open, fail };
}
