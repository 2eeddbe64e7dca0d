import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { INSTALL_ROOT } from '../../base/version.ts'

interface Package {
  license?: string
  dependencies?: Record<string, string>
}

/** The packages this program is built on, with their licences. */
export function formatCredits(): string {
  const manifest = readPackage(INSTALL_ROOT)
  const lines = Object.entries(manifest?.dependencies ?? {}).map(([name, version]) => {
    const license = readPackage(join(INSTALL_ROOT, 'node_modules', name))?.license ?? 'see its package'
    return `  ${name.padEnd(36)} ${version.padEnd(12)} ${license}`
  })
  return `Adit is published under the ${manifest?.license ?? 'Apache-2.0'} licence. It is built on:\n\n${lines.join('\n')}\n`
}

function readPackage(directory: string): Package | undefined {
  try {
    return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Package
  } catch {
    return undefined
  }
}
