/** The pages of the server, and what it hands out. */
const SERVER_FILES = ['dist/dashboard', 'dist/docs', 'scripts/install.sh']

/** The fields of `package.json` that are about working on this repository. */
const REPOSITORY_FIELDS = ['scripts', 'allowScripts', 'devDependencies']

export type Manifest = Readonly<Record<string, unknown>>

/** The manifest of `adit-agent`: the program and libraries of `adit-server` without the server. */
export function agentManifest(source: Manifest): Manifest {
  const fields = Object.entries(source).filter(([field]) => !REPOSITORY_FIELDS.includes(field))
  return {
    ...Object.fromEntries(fields),
    name: 'adit-agent',
    description: 'The agent of Adit, self-hosted tunnels and ingress: public URLs for local services.',
    files: (source.files as string[]).filter((file) => !SERVER_FILES.includes(file)),
  }
}
