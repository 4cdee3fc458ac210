/**
 * ## Bulk operations
 *
 * | Key         | Type   | Content                                                   | Written by       | Goes away                  |
 * |-------------|--------|-----------------------------------------------------------|------------------|----------------------------|
 * | `operation` | STRING | progress of the bulk operation whose id is the hash tag   | `BulkOperations` | a day after its last write |
 */
import { KeySpace } from '@mortise/redis';

/** Of the bulk operation: JSON. An operation of one queue may be looked up without its name, so it lies in a slot of its own. */
export function operationKey(prefix: string | undefined, id: string): string {
  return new KeySpace('queues', prefix).entity(id, 'id').key('operation');
}
