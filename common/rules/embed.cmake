# Writes OUT: the rule packs (PACKS) as C++ raw strings, so that the programs carry them.
set(text "#include \"common/rules/shipped_rules.h\"\n\nnamespace logarithm {\n\nstd::vector<RuleSet::Source> shipped_rules() {\n  return {\n")
foreach(pack IN LISTS PACKS)
  file(READ "${pack}" yaml)
  get_filename_component(name "${pack}" NAME)
  string(APPEND text "      {\"config/rules/${name}\", R\"LGR_YAML(" "${yaml}" ")LGR_YAML\"},\n")
endforeach()
string(APPEND text "  };\n}\n\n}  // namespace logarithm\n")
file(WRITE "${OUT}" "${text}")
