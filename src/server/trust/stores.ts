import { join } from 'node:path'

/** A command with its arguments, as it is printed and run. */
export type CommandLine = readonly [program: string, ...args: string[]]

/** A list of trusted roots, and the commands that change it. */
export interface TrustStore {
  /** As messages name it. */
  readonly name: string
  /** Whether only root may change it. */
  readonly needsRoot: boolean
  readonly install: readonly CommandLine[]
  readonly uninstall: readonly CommandLine[]
  /** Succeeds while the root is installed; absent where removing it twice does no harm. */
  readonly isInstalled?: CommandLine
  /** Whether installing it twice fails. */
  readonly rejectsDuplicate?: boolean
}

/** The certificate to install. */
export interface RootCertificate {
  /** The PEM file. */
  readonly file: string
  /** The common name; stores that name their entries use it. */
  readonly name: string
  /** SHA-1 of the certificate in hexadecimal digits, by which macOS and Windows find it. */
  readonly sha1: string
}

/** What is known of the machine; a parameter, so that tests can stand in for systems they do not run on. */
export interface System {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly javaHome: string | undefined
  exists(path: string): boolean
  /** The subdirectories of a directory; empty when there is none. */
  directories(path: string): readonly string[]
  hasProgram(name: string): boolean
}

/** The stores of this machine, and what keeps others from being found. */
export interface DetectedStores {
  readonly stores: readonly TrustStore[]
  readonly notes: readonly string[]
}

/** Finds the stores of the system, of Firefox and Chromium and, on request, of Java. */
export function detectStores(
  system: System,
  root: RootCertificate,
  options: { java: boolean },
): DetectedStores {
  const systemStore = detectSystemStore(system, root)
  const nss = detectNssStores(system, root)
  const java = options.java ? detectJavaStore(system, root) : { stores: [], notes: [] }
  const notes = systemStore === undefined ? [UNKNOWN_SYSTEM] : []
  return {
    stores: [...(systemStore ? [systemStore] : []), ...nss.stores, ...java.stores],
    notes: [...notes, ...nss.notes, ...java.notes],
  }
}

const UNKNOWN_SYSTEM =
  'The trust store of this system is unknown. See its documentation for how to add a root certificate in PEM.'

/** A directory for roots of the administrator, and the command that reads it. The first that exists is used. */
interface AnchorDirectory {
  readonly name: string
  readonly directory: string
  readonly extension: string
  readonly refresh: CommandLine
  /** After a removal, where that differs: links to files that are gone stay otherwise. */
  readonly cleanUp?: CommandLine
}

const ANCHOR_DIRECTORIES: readonly AnchorDirectory[] = [
  {
    name: 'system store (Fedora, RHEL)',
    directory: '/etc/pki/ca-trust/source/anchors',
    extension: 'pem',
    refresh: ['update-ca-trust', 'extract'],
  },
  {
    name: 'system store (Debian, Ubuntu)',
    directory: '/usr/local/share/ca-certificates',
    extension: 'crt',
    refresh: ['update-ca-certificates'],
    cleanUp: ['update-ca-certificates', '--fresh'],
  },
  {
    name: 'system store (Arch)',
    directory: '/etc/ca-certificates/trust-source/anchors',
    extension: 'crt',
    refresh: ['trust', 'extract-compat'],
  },
  {
    name: 'system store (SUSE)',
    directory: '/usr/share/pki/trust/anchors',
    extension: 'pem',
    refresh: ['update-ca-certificates'],
    cleanUp: ['update-ca-certificates', '--fresh'],
  },
]

function detectSystemStore(system: System, root: RootCertificate): TrustStore | undefined {
  if (system.platform === 'darwin') return macStore(root)
  if (system.platform === 'win32') return windowsStore(root)
  const anchors = ANCHOR_DIRECTORIES.find(
    ({ directory, refresh }) => system.exists(directory) && system.hasProgram(refresh[0]),
  )
  if (anchors === undefined) return undefined
  const { name, directory, extension, refresh, cleanUp = refresh } = anchors
  const anchor = join(directory, `${root.name.toLowerCase().replaceAll(' ', '-')}.${extension}`)
  return {
    name,
    needsRoot: true,
    install: [['install', '-m', '0644', root.file, anchor], refresh],
    uninstall: [['rm', '-f', anchor], cleanUp],
  }
}

const MAC_KEYCHAIN = '/Library/Keychains/System.keychain'

function macStore({ file, sha1, name }: RootCertificate): TrustStore {
  return {
    name: 'system keychain',
    needsRoot: true,
    install: [['security', 'add-trusted-cert', '-d', '-r', 'trustRoot', '-k', MAC_KEYCHAIN, file]],
    // Removes the trust settings too (-t).
    uninstall: [['security', 'delete-certificate', '-Z', sha1, '-t', MAC_KEYCHAIN]],
    isInstalled: ['security', 'find-certificate', '-c', name, MAC_KEYCHAIN],
  }
}

function windowsStore({ file, sha1 }: RootCertificate): TrustStore {
  return {
    name: 'certificates of the current user',
    needsRoot: false,
    install: [['certutil', '-user', '-addstore', 'Root', file]],
    uninstall: [['certutil', '-user', '-delstore', 'Root', sha1]],
    isInstalled: ['certutil', '-user', '-store', 'Root', sha1],
  }
}

/** Where Chromium and Firefox keep their databases, below the home directory; those of Firefox are in profiles. */
const CHROMIUM_DATABASES = ['.pki/nssdb', '.local/share/pki/nssdb', 'snap/chromium/current/.pki/nssdb']
const FIREFOX_PROFILES = [
  '.mozilla/firefox',
  '.config/mozilla/firefox',
  'snap/firefox/common/.mozilla/firefox',
  '.var/app/org.mozilla.firefox/.mozilla/firefox',
  'Library/Application Support/Firefox/Profiles',
]
const CHROMIUM_PROGRAMS = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'brave-browser',
]

const NO_CERTUTIL =
  'Firefox and Chromium have their own stores, which need certutil: install libnss3-tools (Debian, Ubuntu), nss-tools (Fedora), mozilla-nss-tools (SUSE) or nss (Arch, Homebrew), then run this again.'

function detectNssStores(system: System, root: RootCertificate): DetectedStores {
  // There, certutil is a program of the system, and both browsers use the store of the system.
  if (system.platform === 'win32') return { stores: [], notes: [] }
  const hasDatabase = (directory: string) => system.exists(join(directory, 'cert9.db'))
  const chromium = CHROMIUM_DATABASES.map((path) => join(system.home, path))
  const existing = chromium.filter(hasDatabase)
  const missing =
    existing.length === 0 && system.platform === 'linux' && CHROMIUM_PROGRAMS.some(system.hasProgram)
      ? chromium.slice(0, 1)
      : []
  const firefox = FIREFOX_PROFILES.flatMap((path) => {
    const parent = join(system.home, path)
    return system.directories(parent).map((profile) => join(parent, profile))
  }).filter(hasDatabase)
  if (existing.length + missing.length + firefox.length === 0) return { stores: [], notes: [] }
  if (!system.hasProgram('certutil')) return { stores: [], notes: [NO_CERTUTIL] }
  return {
    stores: [
      ...existing.map((directory) => nssStore('Chromium and Chrome', directory, root)),
      ...missing.map((directory) => createdNssStore('Chromium and Chrome', directory, root)),
      ...firefox.map((directory) => nssStore('Firefox', directory, root)),
    ],
    notes: [],
  }
}

function nssStore(browser: string, directory: string, root: RootCertificate): TrustStore {
  const database = ['-d', `sql:${directory}`] as const
  return {
    name: `${browser} (${directory})`,
    needsRoot: false,
    // "C,,": may sign certificates of servers, nothing else.
    install: [['certutil', '-A', ...database, '-t', 'C,,', '-n', root.name, '-a', '-i', root.file]],
    uninstall: [['certutil', '-D', ...database, '-n', root.name]],
    isInstalled: ['certutil', '-L', ...database, '-n', root.name],
  }
}

/** A browser that has not run yet takes over a database that it finds. */
function createdNssStore(browser: string, directory: string, root: RootCertificate): TrustStore {
  const store = nssStore(browser, directory, root)
  return {
    ...store,
    install: [
      ['mkdir', '-p', directory],
      ['certutil', '-N', '-d', `sql:${directory}`, '--empty-password'],
      ...store.install,
    ],
  }
}

function detectJavaStore(system: System, root: RootCertificate): DetectedStores {
  const bundled = system.javaHome && join(system.javaHome, 'bin', 'keytool')
  const keytool =
    bundled && system.exists(bundled) ? bundled : system.hasProgram('keytool') ? 'keytool' : undefined
  if (keytool === undefined)
    return { stores: [], notes: ['keytool was not found: set JAVA_HOME to the Java installation.'] }
  const entry = ['-cacerts', '-storepass', 'changeit', '-alias', root.name] as const
  return {
    stores: [
      {
        name: 'Java',
        needsRoot: true,
        install: [[keytool, '-importcert', '-noprompt', ...entry, '-file', root.file]],
        uninstall: [[keytool, '-delete', ...entry]],
        isInstalled: [keytool, '-list', ...entry],
        rejectsDuplicate: true,
      },
    ],
    notes: [],
  }
}
