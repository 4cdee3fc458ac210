/**
 * ## Bulk operations
 *
 * | Key         | Type   | Content                                                   | Written by       | Goes away                  |
 * |-------------|--------|-----------------------------------------------------------|------------------|----------------------------|
 * | `operation` | STRING | progress of the bulk operation whose id is the hash tag   | `BulkOperations` | a day after its last write |
 *
 * The channel `operation-written` of the same entity has a message after each write while an operation runs.
 */
import type { EntityKeys } from '@mortise/redis';
import { KeySpace } from '@mortise/redis';

/** Of the bulk operation: JSON. An operation of one queue may be looked up without its name, so it lies in a slot of its own. */
export function operationKey(prefix: string | undefined, id: string): string {
  return entityOf(prefix, id).key('operation');
}

/** The channel of its writes. */
export function operationChannel(prefix: string | undefined, id: string): string {
  return entityOf(prefix, id).key('operation-written');
}

function entityOf(prefix: string | undefined, id: string): EntityKeys {
  return new KeySpace('queues', prefix).entity(id, 'id');
}
