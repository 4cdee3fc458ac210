/** Numbers of 32 bits that look random and are the same in every process. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    // Marsaglia's xorshift32.
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>>= 0);
  };
}
