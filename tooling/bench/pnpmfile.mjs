// redlock-universal asks for Node 22 and runs on 20, where we have to measure it: the range goes, for this package only.
export const hooks = {
  readPackage(manifest) {
    if (manifest.name === 'redlock-universal') delete manifest.engines;
    return manifest;
  },
};
