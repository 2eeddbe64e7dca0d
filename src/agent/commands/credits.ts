import { join } from 'node:path'
import { IS_EXECUTABLE, readProgramFileSync } from '../../base/program-files.ts'
import { INSTALL_ROOT } from '../../base/version.ts'

interface Package {
  license?: string
  dependencies?: Record<string, string>
}

/** The packages this program is built on, with their licences. */
export function formatCredits(): string {
  const manifest = readPackage(INSTALL_ROOT)
  return `Adit is published under the ${manifest?.license ?? 'Apache-2.0'} licence. It is built on:\n\n${formatPackages(manifest)}`
}

/** A build lists the packages inside it; from the sources they are those that `package.json` names. */
function formatPackages(manifest: Package | undefined): string {
  const texts = join(INSTALL_ROOT, 'dist', 'third-party-licences.txt')
  if (manifest?.dependencies === undefined) {
    const content = readProgramFileSync(texts).toString()
    if (IS_EXECUTABLE) return content
    const [list = ''] = content.split('\n\n', 1)
    return `${list}\n\nThe texts of their licences are in ${texts}.\n`
  }
  const lines = Object.entries(manifest.dependencies).map(([name, version]) => {
    const license = readPackage(join(INSTALL_ROOT, 'node_modules', name))?.license ?? 'see its package'
    return `  ${name.padEnd(36)} ${version.padEnd(12)} ${license}`
  })
  return `${lines.join('\n')}\n`
}

function readPackage(directory: string): Package | undefined {
  try {
    return JSON.parse(readProgramFileSync(join(directory, 'package.json')).toString()) as Package
  } catch {
    return undefined
  }
}
