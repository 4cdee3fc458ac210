/** A process that contends for locks. Its argument has its work; a message stops it, and tests kill it. */
import { Redis } from 'ioredis';
import { connectTo } from '../connect.js';
import { skewDate } from './clock.js';
import type { WorkerConfig, WorkerMessage } from './config.js';
import { Contender } from './contender.js';
import { lockOf } from './lock-kinds.js';
import { Recorder } from './recorder.js';
import { Resource } from './resource.js';
import { sabotage } from './sabotage.js';

const config = JSON.parse(process.argv[2]!) as WorkerConfig;
if (config.skewMs !== undefined) skewDate(config.skewMs);
if (config.sabotage !== undefined) sabotage(config.sabotage);

const redis = connectTo(config.redis);
const resourceConnection = new Redis(config.resourceUrl);
const resource = new Resource(resourceConnection, config.isFenced);
const recorder = new Recorder(config.file, config.recordsCalls);
const state = { isStopping: false, turns: 0 };

process.on('message', () => {
  state.isStopping = true;
});
// A parent that is gone needs no history.
const abandon = (): never => process.exit(1);
process.on('disconnect', abandon);

await Promise.all([redis.ping(), resource.load()]);
const locks = new Map(config.names.map((name) => [name, lockOf(redis, name, config)]));
tell({ type: 'ready' });
const progress = setInterval(() => tell({ type: 'turns', turns: state.turns }), 20);
await Promise.all(Array.from({ length: config.contenders }, (_, index) => contend(index)));
clearInterval(progress);
redis.disconnect();
resourceConnection.disconnect();
process.off('disconnect', abandon);
process.disconnect();

async function contend(index: number): Promise<void> {
  const contender = new Contender(`${config.worker}.${index}`, config, locks, resource, recorder);
  while (!state.isStopping && state.turns < (config.turns ?? Infinity)) {
    state.turns += 1;
    await contender.turn();
  }
}

function tell(message: WorkerMessage): void {
  process.send?.(message);
}
