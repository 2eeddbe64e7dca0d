const DESCRIPTIONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of the path is not a directory',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exceeded',
  EEXIST: 'a file with this name exists',
  EROFS: 'the file system is read-only',
  ELOOP: 'too many levels of symbolic links',
  ENAMETOOLONG: 'the name is too long',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
  EIO: 'disk I/O error',
}

/** Describes why a file could not be read or written, without the system call and path that Node repeats. */
export function describeFileError(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return DESCRIPTIONS[code ?? ''] ?? message
}
