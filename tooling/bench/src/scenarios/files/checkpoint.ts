import { startRemote } from '../../remote.js';
import type { Competitor, Scenario } from '../../scenario.js';
import { CITIES } from '../aggregation/networks.js';
import type { CheckpointActions, Way } from './checkpoint.process.js';

const MODULE = new URL('checkpoint.process.js', import.meta.url);
const NEW = 'ms, none of them known';
const KNOWN = 'ms, all of them known';
const SCRIPT = 'longest script, ms';

function competitor(name: string, way: Way): Competitor {
  return {
    name,
    version: '',
    prepare: (redis, { url }) => {
      const remote = startRemote<CheckpointActions>(MODULE);
      let files = 0;
      const flush = (): ReturnType<typeof remote.do<'flush'>> =>
        remote.do('flush', { url, way, id: String((files += 1)) });
      return Promise.resolve({
        warmUp: async () => {
          await flush();
          await redis.flushall('SYNC');
          await redis.config('SET', 'slowlog-log-slower-than', '1000', 'slowlog-max-len', '1000');
          await redis.slowlog('RESET');
        },
        run: async () => {
          const first = await flush();
          const second = await flush();
          const slow = (await redis.slowlog('GET', 1_000)) as [number, number, number, string[]][];
          const scripts = slow.filter(([, , , [command]]) => command?.toLowerCase().startsWith('eval'));
          return {
            operations: 2,
            elsewhere: {
              seconds: (first.result + second.result) / 1_000,
              sentCommands: first.spent.sentCommands + second.spent.sentCommands,
              cpuMicros: first.spent.cpuMicros + second.spent.cpuMicros,
            },
            figures: {
              [NEW]: first.result,
              [KNOWN]: second.result,
              [SCRIPT]: Math.max(0, ...scripts.map(([, , micros]) => micros)) / 1_000,
            },
          };
        },
        close: () => remote.kill(),
      });
    },
  };
}

export const checkpoint: readonly Scenario[] = [
  {
    name: 'files.checkpoint',
    title: 'Files: a checkpoint of the log aggregation',
    operation: 'one checkpoint',
    method:
      `The counts of a log are added to the aggregates of a day: ${CITIES} cities, with their regions and countries; once to an empty day, then to one that has them all. ` +
      'Ours does so exactly once, however often it is asked to; ZINCRBY in pipelines of 5000 does not.',
    competitors: [competitor('@mortise/worker', 'checkpoint'), competitor('ZINCRBY, pipelines', 'pipelines')],
    columns: [NEW, KNOWN, SCRIPT, 'Redis CPU µs', 'commands sent'],
    drawn: NEW,
  },
];
