/** The fields of `package.json` that are about working on this repository. */
const REPOSITORY_FIELDS = ['private', 'scripts', 'allowScripts', 'dependencies', 'devDependencies']

export type Manifest = Readonly<Record<string, unknown>>

/**
 * The manifest of the published package: every library is inside its bundle, so it depends on none (decision 162). Provenance
 * requires the address of the repository, which the CI service that signs it names.
 */
export function publishedManifest(source: Manifest, env: NodeJS.ProcessEnv = process.env): Manifest {
  const fields = Object.entries(source).filter(([field]) => !REPOSITORY_FIELDS.includes(field))
  const published = { ...Object.fromEntries(fields), bin: { adit: 'bin/adit.cjs' } }
  const { GITHUB_SERVER_URL = 'https://github.com', GITHUB_REPOSITORY } = env
  if (GITHUB_REPOSITORY === undefined) return published
  return {
    ...published,
    repository: { type: 'git', url: `git+${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}.git` },
  }
}

/** The manifest of `adit-agent`: the same program and library without the server. */
export function agentManifest(source: Manifest, env?: NodeJS.ProcessEnv): Manifest {
  const { files, ...published } = publishedManifest(source, env)
  return {
    ...published,
    name: 'adit-agent',
    description: 'The agent of Adit, self-hosted tunnels and ingress: public URLs for local services.',
    files: (files as string[]).filter((file) => file !== 'dist/dashboard'),
  }
}
