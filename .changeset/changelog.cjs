/** How changesets writes a change into a package's CHANGELOG: as it stands in the change file, as one item or several. */
module.exports = {
  getReleaseLine: async ({ summary }) =>
    summary.startsWith('- ') ? summary : `- ${summary.replaceAll('\n', '\n  ')}`,
  getDependencyReleaseLine: async () => '',
};
