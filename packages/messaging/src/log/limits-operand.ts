/** The limits of a log as one script argument: an f64 for each, big-endian, in this order. */
export function limitsOperand(limits: readonly number[]): Buffer {
  const operand = Buffer.allocUnsafe(8 * limits.length);
  for (const [place, limit] of limits.entries()) operand.writeDoubleBE(limit, 8 * place);
  return operand;
}
