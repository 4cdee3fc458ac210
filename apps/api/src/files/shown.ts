import type { ListedFile } from '@mortise/messaging/files';
import type { z } from 'zod';

import { formatFileId } from './file-id.js';
import type { fileSchema } from './schemas.js';

/** A file as it is answered. */
export function shown(channel: string, { epoch, ...file }: ListedFile): z.infer<typeof fileSchema> {
  return { id: formatFileId({ channel, epoch, number: file.number }), ...file };
}
