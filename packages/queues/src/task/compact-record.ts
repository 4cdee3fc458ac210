/**
 * How a record tells that its task has succeeded without a result. An entry in `attempts` costs 90 bytes for the 11 that say
 * so; a sealed record has five bytes more than before, and there is no entry.
 *
 *   u24 ms from 65,536 before it was enqueued to its success, but for the low byte · u8 the attempt that succeeded ·
 *   u8 the low byte | the record
 *
 * The fourth byte tells the two apart: it is below 64 here, and 66 in an instant of enqueuing. worker.seal.part.lua seals,
 * after the fact; scripts read what may be sealed through task.compact.part.lua, and hand it out as it was before. Tasks with a
 * result, children, parents, records of more than 256 bytes and whatever doesn't fit keep their entry. Rejected: sealing
 * with the completion, which makes that a quarter dearer for records of which most are gone a moment later; the instant in
 * the list of those that succeeded, where it can't be found from an id.
 */
const MARK_AT = 3;
const LEAST_UNSEALED = 64;

/** @param record As the hash `tasks` has it, not one that is on its way there. */
export function isCompact(record: Buffer): boolean {
  return record[MARK_AT]! < LEAST_UNSEALED;
}
