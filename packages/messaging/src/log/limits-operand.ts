import type { ChatLimits } from '../options.js';

/** The limits of a log as scripts that append take them: five f64 in one argument. */
export function limitsOperand(limits: ChatLimits): Buffer {
  const { retentionMs, dedupMs, maxMessages, maxBytes, keepAcked } = limits;
  const operand = Buffer.allocUnsafe(40);
  for (const [place, limit] of [retentionMs, dedupMs, maxMessages, maxBytes, keepAcked].entries()) {
    operand.writeDoubleBE(limit, 8 * place);
  }
  return operand;
}
