/**
 * Ends a generator at the end of an `await using` block. Node 24 does so itself, Node 20 does not. A generator function runs
 * nothing before the first `next`. So a method checks its options first, and then returns `disposable(generate(options))`.
 */
export function disposable<Value>(
  generator: AsyncGenerator<Value, void, void>,
): AsyncGenerator<Value, void, void> {
  const dispose = async (): Promise<void> => {
    await generator.return();
  };
  return Object.assign(generator, { [Symbol.asyncDispose]: dispose });
}
