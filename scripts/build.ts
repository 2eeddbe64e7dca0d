// Builds the npm packages, ready for `npm pack`: `adit-server` in this directory and, without the server, dist/adit-agent.
//   node scripts/build.ts
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { buildAgentPackage, buildServerPackage } from './build/packages.ts'

const root = join(import.meta.dirname, '..')

execFileSync(process.execPath, [join(root, 'scripts', 'build-pages.ts')], { stdio: 'inherit' })
process.stderr.write('build: bundling adit\n')
await buildServerPackage()
process.stderr.write('build: bundling adit-agent\n')
await buildAgentPackage(join(root, 'dist', 'adit-agent'))
