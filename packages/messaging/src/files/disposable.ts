/** Ends the generator at the end of an `await using` block. Node 24 does so by itself, Node 20 does not. */
export function disposable<Value>(
  values: AsyncGenerator<Value, void, void>,
): AsyncGenerator<Value, void, void> {
  const dispose = async (): Promise<void> => {
    await values.return();
  };
  return Object.assign(values, { [Symbol.asyncDispose]: dispose });
}
