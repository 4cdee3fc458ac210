/** Calls `post` with 1, 2, 3 … until the function is called that it returns, which resolves to the last of them. */
export function keepPosting(post: (n: number) => Promise<unknown>, from = 0): () => Promise<number> {
  const state = { count: from, isOver: false };
  const posting = (async () => {
    while (!state.isOver) {
      state.count += 1;
      await post(state.count);
    }
  })();
  return async () => {
    state.isOver = true;
    await posting;
    return state.count;
  };
}
