# awk -v folder=FOLDER -f blocks.awk PAGE: writes the blocks of a page to a folder: those with
# file=NAME to NAME, ```sh to commands.sh, ```text to expected.txt.
/^```/ {
  is_inside = !is_inside
  file = ""
  if (!is_inside) next
  if ($1 == "```sh") file = "commands.sh"
  if ($1 == "```text") file = "expected.txt"
  for (i = 2; i <= NF; ++i) if ($i ~ /^file=/) file = substr($i, 6)
  next
}
is_inside && file != "" { print > (folder "/" file) }
