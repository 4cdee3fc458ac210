import { Module } from '@nestjs/common';

import { AbandonedFiles } from './abandoned-files.js';
import { Downloads } from './downloads.js';
import { FileChannelsController } from './file-channels.controller.js';
import { FilesController } from './files.controller.js';
import { TenantFiles } from './tenant-files.js';
import { Transfers } from './transfers.js';
import { Uploads } from './uploads.js';
import { WatchedChannels } from './watched-channels.js';

/** Files for programs that talk HTTP. */
@Module({
  controllers: [FileChannelsController, FilesController],
  providers: [TenantFiles, Transfers, AbandonedFiles, Uploads, Downloads, WatchedChannels],
  exports: [WatchedChannels],
})
export class RemoteFilesModule {}
