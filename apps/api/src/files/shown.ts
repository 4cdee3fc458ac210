import type { ChannelStatus, ListedFile } from '@mortise/messaging/files';
import type { z } from 'zod';

import { formatFileId } from './file-id.js';
import type { channelSchema, fileSchema } from './schemas.js';

/** A file as it is answered. */
export function shown(channel: string, { epoch, ...file }: ListedFile): z.infer<typeof fileSchema> {
  return { id: formatFileId({ channel, epoch, number: file.number }), ...file };
}

/** A channel as it is answered. */
export function shownChannel(
  channel: string,
  { files, receivers, ...status }: ChannelStatus,
): z.infer<typeof channelSchema> {
  return {
    ...status,
    receivers: [...receivers],
    files: files.map(({ storedBytes, pending, slowest, ...file }) => ({
      ...shown(channel, file),
      storedBytes,
      pending,
      slowest: [...slowest],
    })),
  };
}
