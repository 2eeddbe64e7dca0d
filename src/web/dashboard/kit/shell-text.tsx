/** A shell command that breaks between its words. Browsers would also break after the hyphens of an option. */
export function ShellText({ text }: { text: string }) {
  return text.split(/(\s+)/).map((part, index) =>
    /\S/.test(part) ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the words of one command never move.
      <span key={index} className="shell-word">
        {part}
      </span>
    ) : (
      part
    ),
  )
}
