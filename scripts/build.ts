// Builds the npm packages, ready for `npm pack`: dist/adit and, without the server, dist/adit-agent.
//   node scripts/build.ts
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { buildPackage, type PackageName } from './build/packages.ts'

const root = join(import.meta.dirname, '..')

execFileSync(process.execPath, [join(root, 'scripts', 'build-pages.ts')], { stdio: 'inherit' })
for (const name of ['adit', 'adit-agent'] satisfies PackageName[]) {
  process.stderr.write(`build: bundling ${name}\n`)
  await buildPackage(name, join(root, 'dist', name))
}
