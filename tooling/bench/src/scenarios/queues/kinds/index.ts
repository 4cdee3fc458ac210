import type { QueueKind } from '../kind.js';
import { BEE_QUEUE, BEE_QUEUE_LEAN } from './bee-queue.js';
import { BULLMQ, BULLMQ_LEAN } from './bullmq.js';
import { FLOOR } from './floor.js';
import { LAYER } from './layer.js';
import { MORTISE, MORTISE_FETCHED } from './mortise.js';

export { BEE_QUEUE, BEE_QUEUE_LEAN, BULLMQ, BULLMQ_LEAN, FLOOR, LAYER, MORTISE, MORTISE_FETCHED };

export const ALL: readonly QueueKind[] = [MORTISE, BULLMQ, BULLMQ_LEAN, BEE_QUEUE, BEE_QUEUE_LEAN, FLOOR];

export function queueKind(name: string): QueueKind {
  return [...ALL, LAYER, MORTISE_FETCHED].find((kind) => kind.name === name)!;
}
