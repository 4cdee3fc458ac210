/**
 * The id of a file has its channel, the epoch of the channel, and its number: `logs:pG3x_f0aKq1Z:7`. When a channel was forgotten and is created
 * again, numbers begin at 1 in another epoch. For people who type, `logs:7` is the present file of this number.
 */
import { z } from 'zod';

import { nameSchema } from '../http/id-schema.js';

export interface FileId {
  readonly channel: string;
  readonly number: number;
  readonly epoch: string | undefined;
}

const ID = /^(.{1,1024}?)(?::([A-Za-z0-9_-]{12}))?:([1-9][0-9]{0,14})$/su;

export function formatFileId({ channel, epoch, number }: FileId): string {
  return [channel, epoch, number].filter((part) => part !== undefined).join(':');
}

export const fileIdSchema = z.string().transform((text, context): FileId => {
  const [, channel, epoch, number] = ID.exec(text) ?? [];
  if (nameSchema.safeParse(channel).success) return { channel: channel!, epoch, number: Number(number) };
  context.addIssue({ code: 'custom', message: 'must be the id of a file, as lists have it' });
  return z.NEVER;
});

/** As the package wants it. */
export function refOf({ number, epoch }: FileId): number | { number: number; epoch: string } {
  return epoch === undefined ? number : { number, epoch };
}
