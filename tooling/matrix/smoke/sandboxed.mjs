/** A handler in a thread of its own, for the smoke test of the queues. */
export default async function sum(numbers, { progress }) {
  await progress({ numbers: numbers.length });
  return numbers.reduce((total, number) => total + number, 0);
}
