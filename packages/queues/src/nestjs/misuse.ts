/** What lets the boot fail, which shows no more of an error than its message. */
export function misuse(where: string, error: unknown): TypeError | RangeError {
  const Misuse = error instanceof RangeError ? RangeError : TypeError;
  return new Misuse(`QueuesModule${where}: ${(error as Error).message}`, { cause: error });
}
