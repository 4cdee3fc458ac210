/**
 * A message without the link to the page of its code: where the code stands beside it, or Redis stores it, the link would
 * only cost room.
 */
export function withoutLink(message: string): string {
  return message.replaceAll(/ \(see https:\/\/mortise\.dev\/errors\/\w+\)/g, '');
}
