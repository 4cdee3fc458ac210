/**
 * A compact record contains the end of a task that succeeded without a result. An entry in `attempts` costs 90 bytes for 11
 * bytes of content; a compact record has five more bytes, and there is no entry.
 *
 *   u24 ms from 65,536 before the enqueue to the success, without the low byte · u8 the attempt that succeeded ·
 *   u8 the low byte | the record
 *
 * The fourth byte identifies a compact record: it is below 64 here, and 66 in an enqueue time. The maintenance script
 * compacts records later; readers use task.compact.part.lua. Tasks with a result, children or a parent, records of more
 * than 256 bytes, and values that don't fit keep their entry. Rejected: compacting with the ack, which costs a quarter
 * more, although most records are deleted a moment later; and the instant in the list of succeeded ids, where an id cannot
 * be looked up.
 */
const MARK_AT = 3;
const LEAST_EXPANDED = 64;

/** @param record A record from the hash `tasks`. */
export function isCompact(record: Buffer): boolean {
  return record[MARK_AT]! < LEAST_EXPANDED;
}
