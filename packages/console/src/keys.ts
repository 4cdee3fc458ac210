/**
 * The keys of this package.
 *
 * | Key | Type | Holds | Ends |
 * |---|---|---|---|
 * | `<prefix>:console:{operations}:operation:<id>` | STRING | how far a bulk operation is, JSON | a day after its last write |
 */
import { KeySpace } from '@mortise/redis';

/** The key of a bulk operation. */
export function operationKey(prefix: string, id: string): string {
  return new KeySpace('console', prefix).entity('operations').key('operation', id);
}
