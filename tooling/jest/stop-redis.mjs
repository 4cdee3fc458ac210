export default async function stopRedis() {
  await globalThis.mortiseTestRedis?.stop();
}
