/** The peers of BentoCache and its bus, which were not made for ioredis 6. */
const IOREDIS_5 = '5.11.1';

export const hooks = {
  readPackage(manifest) {
    // redlock-universal asks for Node 22 and runs on 20, where we have to measure it: the range goes, for this package only.
    if (manifest.name === 'redlock-universal') delete manifest.engines;
    if (manifest.name === 'bentocache' || manifest.name === '@boringnode/bus') {
      delete manifest.peerDependencies.ioredis;
      manifest.dependencies.ioredis = IOREDIS_5;
    }
    return manifest;
  },
};
