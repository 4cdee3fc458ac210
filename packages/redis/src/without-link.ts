/**
 * Returns a message without the link to the page of its code. The link would only cost room where the code stands beside the
 * message, or where Redis stores the message.
 */
export function withoutLink(message: string): string {
  return message.replaceAll(/ \(see https:\/\/mortise\.dev\/errors\/\w+\)/g, '');
}
