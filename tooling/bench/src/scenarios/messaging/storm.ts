/**
 * All members of many chats come back at the same time, and each reads what was posted meanwhile. Others, whose chats are on the same
 * server, post in the meantime.
 */
import { percentile } from '../../percentile.js';
import { startRemote } from '../../remote.js';
import type { Competitor, Scenario } from '../../scenario.js';
import { MORTISE } from './kinds/index.js';
import { TEXT } from './message.js';
import { redisCpuMs } from './redis-cpu.js';
import type { StormActions } from './storm.process.js';

const MODULE = new URL('storm.process.js', import.meta.url);
const MEMBERS = 100_000;
const PROCESSES = 4;
/** Members of a chat, who are in the same chats: a team. */
const TEAM = 100;
const CHATS = 20;
const NEW_MESSAGES = 5;
/** Pulls of a process that wait for Redis. */
const AT_ONCE = 250;
/** Between two posts of the others, ms. */
const PAUSE_MS = 5;
const IDLE_POSTS = 200;
const CPU = 'Redis CPU ms';
const OTHERS_P99 = 'others: p99 ms';

const competitor: Competitor = {
  name: MORTISE.name,
  version: MORTISE.version,
  prepare: (redis, { url, scale }) => {
    const teams = Math.ceil((MEMBERS * scale) / TEAM);
    const all = Array.from({ length: PROCESSES }, () => startRemote<StormActions>(MODULE));
    const others = startRemote<StormActions>(MODULE);
    const ofEach = all.map((_, index) => ({
      url,
      teams: Array.from({ length: teams }, (__, team) => team).filter((team) => team % PROCESSES === index),
      members: TEAM,
      chats: CHATS,
      messages: NEW_MESSAGES,
      text: TEXT,
      atOnce: AT_ONCE,
    }));
    return Promise.resolve({
      warmUp: async () => {
        await Promise.all(all.map((remote, index) => remote.do('fill', ofEach[index]!)));
        await others.do('begin', { url, text: TEXT, pauseMs: PAUSE_MS });
      },
      run: async () => {
        const cpuOfPosts = (await others.do('cpuOfPosts', IDLE_POSTS)).result;
        await others.do('clear', undefined);
        const before = await redisCpuMs(redis);
        const pulled = await Promise.all(all.map((remote, index) => remote.do('pullAll', ofEach[index]!)));
        const cpuMs = (await redisCpuMs(redis)) - before;
        const { result: posts } = await others.do('clear', undefined);
        const took = pulled.flatMap(({ result }) => result);
        return {
          operations: took.length,
          figures: {
            'p50 ms': percentile(took, 0.5),
            'p99 ms': percentile(took, 0.99),
            [CPU]: (cpuMs - posts.length * cpuOfPosts) / took.length,
            'others: p50 ms': percentile(posts, 0.5),
            [OTHERS_P99]: percentile(posts, 0.99),
          },
        };
      },
      close: async () => {
        await Promise.all([...all, others].map((remote) => remote.kill()));
      },
    });
  },
};

export const storm: readonly Scenario[] = [
  {
    name: 'messaging.storm',
    title: `Messaging: ${MEMBERS / 1_000},000 members reconnect at once`,
    operation: `the ${NEW_MESSAGES} new messages of each of ${CHATS} chats pulled by one member`,
    method:
      `Teams of ${TEAM} members have ${CHATS} chats each. ${PROCESSES} processes pull for all members, each ${AT_ONCE} at a time; nothing is acked. ` +
      `Others post to a chat of their own every ${PAUSE_MS} ms from one more process, and the CPU of these posts is taken off.`,
    competitors: [competitor],
    columns: ['operations/s', 'p50 ms', 'p99 ms', CPU, 'others: p50 ms', OTHERS_P99],
    drawn: CPU,
    mostRepeats: 1,
    bars: [
      { competitor: MORTISE.name, figure: CPU, atMost: 0.2 },
      { competitor: MORTISE.name, figure: OTHERS_P99, atMost: 50 },
    ],
  },
];
