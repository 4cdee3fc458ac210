/** Runs `section` under the lease and releases it; what `using` of every lock does. */
export async function runUnder<L extends AsyncDisposable & { readonly signal: AbortSignal }, Result>(
  acquired: L,
  section: (signal: AbortSignal, lease: L) => Promise<Result> | Result,
  signal: AbortSignal | undefined,
): Promise<Result> {
  await using lease = acquired;
  const signals = signal ? [lease.signal, signal] : [lease.signal];
  const result = await section(AbortSignal.any(signals), lease);
  lease.signal.throwIfAborted();
  return result;
}
