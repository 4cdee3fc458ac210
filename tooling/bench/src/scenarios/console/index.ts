import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { consoleHandler } from '@mortise/console';

import { percentile } from '../../percentile.js';
import type { Competitor, Scenario } from '../../scenario.js';
import { versionOf } from '../../version-of.js';
import { commandFigures, forgetCommands } from './commands.js';
import { fill } from './data.js';
import { Requests } from './requests.js';
import { tabHeapMb } from './tab.js';

const NAME = '@mortise/console';
const PREFIX = 'bench';
const MOUNT = '/console';
const PAGES = 200;
const WARM_UP_PAGES = 5;

const figures = {
  p50: 'list p50 ms',
  p95: 'list p95 ms',
  search: 'search p95 ms',
  answer: 'answer kB at most',
  heap: 'tab heap MB at most',
  wholes: 'commands O(N)',
  longest: 'longest command ms',
} as const;

const ours: Competitor = {
  name: NAME,
  version: versionOf(NAME),
  prepare: async (redis, { scale }) => {
    const queue = await fill(redis, PREFIX, scale);
    const handler = consoleHandler(redis, {
      mount: MOUNT,
      prefix: PREFIX,
      authorize: () => 'change',
      onAction: () => undefined,
    });
    const server = createServer((request, response) => void handler(request, response)).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${MOUNT}`;
    return {
      warmUp: () => new Requests(url).read(WARM_UP_PAGES),
      run: async () => {
        await forgetCommands(redis);
        const requests = new Requests(url);
        await requests.read(PAGES);
        const { wholes, longestMs } = await commandFigures(redis);
        const lists = requests.lists.map(({ ms }) => ms);
        return {
          operations: lists.length + requests.searches.length + requests.others.length,
          figures: {
            [figures.p50]: percentile(lists, 0.5),
            [figures.p95]: percentile(lists, 0.95),
            [figures.search]: percentile(
              requests.searches.map(({ ms }) => ms),
              0.95,
            ),
            [figures.answer]: requests.mostBytes / 1_000,
            [figures.heap]: await tabHeapMb(url, queue),
            [figures.wholes]: wholes,
            [figures.longest]: longestMs,
          },
        };
      },
      close: async () => {
        await handler.close();
        server.closeAllConnections();
        server.close();
      },
    };
  },
};

export const consoles: readonly Scenario[] = [
  {
    name: 'console.million',
    title: 'Console: a queue with a million tasks',
    operation: 'one request of the page',
    method:
      'consoleHandler in a server of node:http, with the client in the same process, one request after the other. 50 tasks with a payload of 3 MB ' +
      'come before a million small ones; a tenth of these is scheduled. A list is one of 200 pages of 50 ready tasks, of scheduled ones, and of those of a rare name. ' +
      'A search is by a member of the payload. The tab is a real Chromium with 1,000 rows of the list, then with the task of 3 MB, then with 2,000 live ' +
      'events; its heap has the garbage, too. Commands O(N) are those that read a whole collection.',
    competitors: [ours],
    columns: Object.values(figures),
    drawn: figures.p95,
    bars: [
      { competitor: NAME, figure: figures.p95, atMost: 100 },
      { competitor: NAME, figure: figures.answer, atMost: 100 },
      { competitor: NAME, figure: figures.heap, atMost: 150 },
      { competitor: NAME, figure: figures.wholes, atMost: 0 },
      { competitor: NAME, figure: figures.longest, atMost: 50 },
    ],
  },
];
