import { Redis } from 'ioredis';
import Redlock from 'redlock';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const redlock = new Redlock([redis], { retryCount: 100, retryDelay: 50 });

/** Stands for a payment. */
async function pay(invoice, signal) {
  console.log('pays', invoice, signal.aborted);
}

await redlock.using(['invoice:42'], 10_000, async (signal) => {
  await pay('42', signal);
  if (signal.aborted) throw signal.error;
});
await redlock.quit();

// Output:
// pays 42 false
