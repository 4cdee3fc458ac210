/** The classes of BullMQ on our engine, as a program that has changed its import. */
import * as layer from '@mortise/queues/bullmq';
import type * as bullmq from 'bullmq';
import { versionOf } from '../../../version-of.js';
import type { QueueKind } from '../kind.js';
import { QUEUE } from '../kind.js';
import { workWith } from './bullmq-library.js';

export const LAYER: QueueKind = {
  name: '@mortise/queues/bullmq',
  version: versionOf('@mortise/queues'),
  // Their types differ in private fields.
  ...workWith(layer as unknown as typeof bullmq),
  unfinished: (redis) =>
    new layer.Queue(QUEUE, { connection: redis }).getJobCountByTypes(
      'waiting',
      'prioritized',
      'delayed',
      'active',
    ),
  kept: (redis) => new layer.Queue(QUEUE, { connection: redis }).getCompletedCount(),
};
