import { join } from 'node:path'
import { IS_EXECUTABLE, readProgramFileSync } from '../../base/process/program-files.ts'
import { INSTALL_ROOT } from '../../base/version.ts'

interface Package {
  license?: string
  devDependencies?: Record<string, string>
}

/** The packages this program is built on, with their licences. */
export function formatCredits(): string {
  const manifest = readPackage(INSTALL_ROOT)
  return `Adit is published under the ${manifest?.license ?? 'Apache-2.0'} licence. ${formatBundled() ?? formatInstalled(manifest)}`
}

/** A build lists the packages inside it. */
function formatBundled(): string | undefined {
  const file = join(INSTALL_ROOT, 'dist', 'third-party-licences.txt')
  const content = readText(file)
  if (content === undefined) return undefined
  const [list = ''] = content.split('\n\n', 1)
  const packages = IS_EXECUTABLE ? content : `${list}\n\nThe texts of their licences are in ${file}.\n`
  return `It is built on:\n\n${packages}`
}

/** The sources run on the packages that `package.json` names, tools included. */
function formatInstalled(manifest: Package | undefined): string {
  const lines = Object.entries(manifest?.devDependencies ?? {}).map(([name, version]) => {
    const license = readPackage(join(INSTALL_ROOT, 'node_modules', name))?.license ?? 'see its package'
    return `  ${name.padEnd(36)} ${version.padEnd(12)} ${license}`
  })
  return `It is built on and tested with:\n\n${lines.join('\n')}\n`
}

function readPackage(directory: string): Package | undefined {
  const text = readText(join(directory, 'package.json'))
  return text === undefined ? undefined : (JSON.parse(text) as Package)
}

function readText(path: string): string | undefined {
  try {
    return readProgramFileSync(path).toString()
  } catch {
    return undefined
  }
}
