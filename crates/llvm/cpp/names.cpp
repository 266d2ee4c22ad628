// What the programmer calls memory, from debug information: the types of global variables, and for each site what the
// address there is an offset into, a local variable or a structure; or for what memory is allocated there.
// crates/recording/src/names.rs has the layout of the table.
// Where debug information does not say it, or two operations share a site and differ, the table says nothing.

#include "llvm-c/Core.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/LEB128.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <optional>

using namespace llvm;

namespace {

// Kinds of types and bases; mirrored in crates/importer/src/names.rs.
enum Kind { Scalar = 0, Structure = 1, Array = 2 };
enum Of { InStructure = 0, InVariable = 1, Allocated = 2 };

struct Base {
  uint64_t of;
  std::string variable;
  uint64_t type;
  uint64_t offset;

  bool operator==(const Base &other) const {
    return of == other.of && variable == other.variable && type == other.type && offset == other.offset;
  }
};

void put(std::string &out, uint64_t number) {
  raw_string_ostream stream(out);
  encodeULEB128(number, stream);
}

void put(std::string &out, StringRef text) {
  put(out, text.size());
  out += text;
}

// The type without names and qualifiers around it.
const DIType *bare(const DIType *type) {
  while (auto *derived = dyn_cast_or_null<DIDerivedType>(type)) {
    switch (derived->getTag()) {
    case dwarf::DW_TAG_typedef:
    case dwarf::DW_TAG_const_type:
    case dwarf::DW_TAG_volatile_type:
    case dwarf::DW_TAG_restrict_type:
    case dwarf::DW_TAG_atomic_type: type = derived->getBaseType(); break;
    default: return type;
    }
  }
  return type;
}

bool isStructure(const DIType *type) {
  auto *composite = dyn_cast_or_null<DICompositeType>(type);
  return composite && (composite->getTag() == dwarf::DW_TAG_structure_type ||
                       composite->getTag() == dwarf::DW_TAG_class_type ||
                       composite->getTag() == dwarf::DW_TAG_union_type);
}

// In bits. Of several fields in one word it is the word that is read and written.
uint64_t startOf(const DIDerivedType &member) {
  auto *word = member.isBitField() ? dyn_cast_or_null<ConstantInt>(member.getStorageOffsetInBits()) : nullptr;
  return word ? word->getZExtValue() : member.getOffsetInBits();
}

// The name with its namespaces and classes.
std::string qualified(const DIType *type) {
  std::string name = type->getName().str();
  for (const DIScope *scope = type->getScope(); scope; scope = scope->getScope()) {
    if (!isa<DINamespace>(scope) && !isa<DICompositeType>(scope))
      break;
    StringRef part = scope->getName();
    name = (part.empty() ? "(anonymous)" : part.str()) + "::" + name;
  }
  return name;
}

// As LLVM names structures: without template arguments.
std::string withoutArguments(StringRef name) {
  std::string plain;
  int depth = 0;
  for (char c : name) {
    if (c == '<')
      depth++;
    else if (c == '>')
      depth--;
    else if (depth == 0)
      plain += c;
  }
  return plain;
}

class Names {
  Module &module;
  const DataLayout &layout;
  // Structures by the name that LLVM gives them.
  StringMap<SmallVector<const DICompositeType *, 1>> structures;
  DenseMap<const DIType *, uint64_t> numbers;
  std::string types;
  uint64_t typeCount = 0;
  std::string globals;
  uint64_t globalCount = 0;
  std::map<uint64_t, std::optional<Base>> bases;
  bool isKnown = false;

public:
  std::string table;

  explicit Names(Module &of) : module(of), layout(of.getDataLayout()) {
    for (const DICompileUnit *unit : module.debug_compile_units())
      isKnown |= unit->getEmissionKind() == DICompileUnit::FullDebug;
    if (!isKnown)
      return;
    DebugInfoFinder finder;
    finder.processModule(module);
    for (const DIType *type : finder.types())
      if (isStructure(type) && !type->isForwardDecl() && !type->getName().empty())
        structures[withoutArguments(qualified(type))].push_back(cast<DICompositeType>(type));
  }

  // The number of a type; members come before what they are in.
  uint64_t number(const DIType *type) {
    type = bare(type);
    auto known = numbers.find(type);
    if (known != numbers.end())
      return known->second;
    std::string text;
    auto *composite = dyn_cast_or_null<DICompositeType>(type);
    uint64_t size = type ? type->getSizeInBits() / 8 : 0;
    if (isStructure(type)) {
      std::string members;
      uint64_t count = 0;
      for (const DINode *node : composite->getElements()) {
        auto *member = dyn_cast<DIDerivedType>(node);
        if (!member || member->isStaticMember())
          continue;
        bool isBase = member->getTag() == dwarf::DW_TAG_inheritance;
        if (!isBase && member->getTag() != dwarf::DW_TAG_member)
          continue;
        if (member->getFlags() & DINode::FlagVirtual)
          continue;
        uint64_t of = number(member->getBaseType());
        put(members, isBase ? StringRef() : member->getName());
        put(members, startOf(*member) / 8);
        put(members, of);
        count++;
      }
      bool isCpp = !composite->getIdentifier().empty();
      put(text, Structure);
      put(text, StringRef(qualified(composite)));
      put(text, isCpp);
      put(text, size);
      put(text, count);
      text += members;
    } else if (composite && composite->getTag() == dwarf::DW_TAG_array_type && !composite->isVector()) {
      // Of several dimensions the last one is the innermost.
      uint64_t element = number(composite->getBaseType());
      uint64_t elementSize = bare(composite->getBaseType()) ? bare(composite->getBaseType())->getSizeInBits() / 8 : 0;
      SmallVector<uint64_t, 2> counts;
      for (const DINode *node : composite->getElements()) {
        auto *range = dyn_cast<DISubrange>(node);
        auto *count = range ? dyn_cast_if_present<ConstantInt *>(range->getCount()) : nullptr;
        counts.push_back(count && !count->isNegative() ? count->getZExtValue() : 0);
      }
      for (size_t at = counts.size(); at-- > 1;) {
        elementSize *= counts[at];
        std::string inner;
        put(inner, Array);
        put(inner, elementSize);
        put(inner, element);
        types += inner;
        element = typeCount++;
      }
      put(text, Array);
      put(text, size);
      put(text, element);
    } else {
      put(text, Scalar);
      put(text, size);
    }
    types += text;
    return numbers[type] = typeCount++;
  }

  void global(uint64_t index, const GlobalVariable &variable) {
    SmallVector<DIGlobalVariableExpression *, 1> expressions;
    variable.getDebugInfo(expressions);
    if (!isKnown || expressions.empty())
      return;
    put(globals, index);
    put(globals, number(expressions.front()->getVariable()->getType()));
    globalCount++;
  }

  // The structure of which LLVM knows the layout.
  const DICompositeType *structure(Type *type) {
    auto *of = dyn_cast<StructType>(type);
    if (!of || !of->hasName())
      return nullptr;
    // `class.ns::Name.12`
    StringRef name = of->getName().split('.').second;
    while (true) {
      auto [front, number] = name.rsplit('.');
      if (number.empty() || number.find_if_not([](char c) { return c >= '0' && c <= '9'; }) != StringRef::npos)
        break;
      name = front;
    }
    auto known = structures.find(name);
    if (known == structures.end() || !of->isSized())
      return nullptr;
    uint64_t size = layout.getTypeAllocSize(of);
    for (const DICompositeType *one : known->second)
      if (one->getSizeInBits() / 8 == size)
        return one;
    return nullptr;
  }

  static const DILocalVariable *variable(const AllocaInst *local) {
    auto *address = const_cast<AllocaInst *>(local);
    for (DbgVariableRecord *record : findDVRDeclares(address))
      if (record->getExpression()->getNumElements() == 0)
        return record->getVariable();
    for (DbgDeclareInst *declare : findDbgDeclares(address))
      if (declare->getExpression()->getNumElements() == 0)
        return declare->getVariable();
    // With optimisation.
    for (DbgVariableRecord *record : at::getDVRAssignmentMarkers(address))
      if (record->getAddress() == local && record->getAddressExpression()->getNumElements() == 0 &&
          !record->getExpression()->getFragmentInfo())
        return record->getVariable();
    return nullptr;
  }

  std::optional<Base> base(const Value *address) {
    uint64_t offset = 0;
    std::optional<Base> found;
    auto inside = [&](Type *type) {
      if (const DICompositeType *of = structure(type))
        found = Base{InStructure, "", number(of), offset};
    };
    while (auto *step = dyn_cast<GEPOperator>(address)) {
      APInt constant(64, 0);
      if (!step->accumulateConstantOffset(layout, constant)) {
        // Which element is not known, but what it is.
        if (!found)
          inside(step->getResultElementType());
        return found;
      }
      offset += constant.getZExtValue();
      inside(step->getSourceElementType());
      address = step->getPointerOperand();
    }
    auto *local = dyn_cast<AllocaInst>(address);
    if (const DILocalVariable *named = local ? variable(local) : nullptr)
      return Base{InVariable, named->getName().str(), number(named->getType()), offset};
    return found;
  }

  // What a pointer points to, and the name of the pointer: memory is allocated for it.
  std::optional<Base> allocatedFor(StringRef name, const DIType *pointer) {
    auto *derived = dyn_cast_or_null<DIDerivedType>(bare(pointer));
    if (!derived || derived->getTag() != dwarf::DW_TAG_pointer_type || name.empty())
      return std::nullopt;
    const DIType *of = bare(derived->getBaseType());
    if (!of || of->getSizeInBits() == 0)
      return std::nullopt;
    return Base{Allocated, name.str(), number(of), 0};
  }

  // The member of a structure, perhaps of one inside, that begins at an offset.
  static const DIDerivedType *member(const DICompositeType *of, uint64_t offset) {
    for (const DINode *node : of->getElements()) {
      auto *one = dyn_cast<DIDerivedType>(node);
      if (!one || one->isStaticMember() || !one->getBaseType())
        continue;
      uint64_t start = one->getOffsetInBits() / 8;
      const DIType *type = bare(one->getBaseType());
      if (offset < start || !type || offset >= start + type->getSizeInBits() / 8)
        continue;
      if (isStructure(type))
        return member(cast<DICompositeType>(type), offset - start);
      return start == offset && one->getTag() == dwarf::DW_TAG_member ? one : nullptr;
    }
    return nullptr;
  }

  // Memory is allocated for what its address is stored in.
  std::optional<Base> allocation(const CallBase &call) {
    for (const User *user : call.users()) {
      auto *store = dyn_cast<StoreInst>(user);
      if (!store || store->getValueOperand() != &call)
        continue;
      const Value *to = store->getPointerOperand();
      if (auto *local = dyn_cast<AllocaInst>(to)) {
        if (const DILocalVariable *named = variable(local))
          return allocatedFor(named->getName(), named->getType());
      } else if (auto *global = dyn_cast<GlobalVariable>(to)) {
        SmallVector<DIGlobalVariableExpression *, 1> expressions;
        global->getDebugInfo(expressions);
        if (!expressions.empty()) {
          const DIGlobalVariable *named = expressions.front()->getVariable();
          return allocatedFor(named->getName(), named->getType());
        }
      } else if (auto *step = dyn_cast<GEPOperator>(to)) {
        APInt offset(64, 0);
        auto *of = structure(step->getSourceElementType());
        if (!of || !step->accumulateConstantOffset(layout, offset))
          continue;
        if (const DIDerivedType *named = member(of, offset.getZExtValue()))
          return allocatedFor(named->getName(), named->getBaseType());
      }
    }
    SmallVector<DbgValueInst *, 1> values;
    SmallVector<DbgVariableRecord *, 1> records;
    findDbgValues(values, const_cast<CallBase *>(&call), &records);
    for (const DbgVariableRecord *record : records)
      if (record->getExpression()->getNumElements() == 0)
        return allocatedFor(record->getVariable()->getName(), record->getVariable()->getType());
    return std::nullopt;
  }

  static bool isAllocation(const CallBase &call) {
    const Function *callee = call.getCalledFunction();
    if (!callee)
      return false;
    for (StringRef name : {"malloc", "calloc", "realloc", "reallocarray", "aligned_alloc", "strdup", "strndup"})
      if (callee->getName() == name)
        return true;
    return callee->getName().starts_with("_Znw") || callee->getName().starts_with("_Zna");
  }

  void note(uint64_t site, const Instruction &instruction) {
    if (!isKnown)
      return;
    std::optional<Base> found;
    auto *allocates = dyn_cast<CallBase>(&instruction);
    if (allocates && isAllocation(*allocates)) {
      found = allocation(*allocates);
    } else if (const Value *address = addressOf(instruction)) {
      found = base(address);
    } else {
      return;
    }
    auto [known, isNew] = bases.try_emplace(site, found);
    if (!isNew && !(known->second == found))
      known->second.reset();
  }

  // The address that an access or a call is about.
  static const Value *addressOf(const Instruction &instruction) {
    const Value *address = getLoadStorePointerOperand(&instruction);
    if (auto *rmw = dyn_cast<AtomicRMWInst>(&instruction))
      address = rmw->getPointerOperand();
    else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
      address = exchange->getPointerOperand();
    else if (auto *call = dyn_cast<CallBase>(&instruction))
      address = isa<MemIntrinsic>(call) ? filled(*cast<MemIntrinsic>(call)) : synchronisedOn(*call);
    return address;
  }

  // What a call fills that reads nothing that others see.
  static const Value *filled(const MemIntrinsic &call) {
    if (auto *copy = dyn_cast<MemTransferInst>(&call)) {
      auto *source = dyn_cast<GlobalVariable>(copy->getRawSource());
      if (!source || !source->isConstant())
        return nullptr;
    }
    return call.getRawDest();
  }

  // The lock, condition variable or the like that a call is about.
  static const Value *synchronisedOn(const CallBase &call) {
    const Function *callee = call.getCalledFunction();
    if (!callee || call.arg_size() == 0)
      return nullptr;
    StringRef name = callee->getName();
    const Value *first = call.getArgOperand(0);
    if (name.starts_with("pthread_") || name.starts_with("sem_"))
      return first->getType()->isPointerTy() ? first : nullptr;
    if (!name.starts_with("_ZNSt") && !name.starts_with("_ZNKSt"))
      return nullptr;
    // Its functions name the guard as well, as the type of a parameter.
    if (name.contains("condition_variable"))
      return first;
    for (StringRef guard : {"lock_guard", "unique_lock", "scoped_lock", "shared_lock"})
      if (name.contains(guard))
        return call.arg_size() > 1 && call.getArgOperand(1)->getType()->isPointerTy() ? call.getArgOperand(1) : nullptr;
    return name.contains("mutex") ? first : nullptr;
  }

  void finish() {
    if (!isKnown)
      return;
    std::string sites;
    uint64_t count = 0;
    for (auto &[site, base] : bases) {
      if (!base)
        continue;
      put(sites, site);
      put(sites, base->of);
      if (base->of != InStructure)
        put(sites, StringRef(base->variable));
      put(sites, base->type);
      put(sites, base->offset);
      count++;
    }
    put(table, 2);
    for (const DICompileUnit *unit : module.debug_compile_units()) {
      put(table, unit->getDirectory());
      break;
    }
    put(table, typeCount);
    table += types;
    put(table, globalCount);
    table += globals;
    put(table, count);
    table += sites;
  }
};

} // namespace

extern "C" Names *ft_names_new(LLVMModuleRef module) { return new Names(*unwrap(module)); }

// The instruction has this site.
extern "C" void ft_names_note(Names *names, uint64_t site, LLVMValueRef instruction) {
  names->note(site, *unwrap<Instruction>(instruction));
}

// The variable has this place among the module's.
extern "C" void ft_names_global(Names *names, uint64_t index, LLVMValueRef global) {
  names->global(index, *unwrap<GlobalVariable>(global));
}

// The table; it is there until ft_names_free.
extern "C" const char *ft_names_finish(Names *names, size_t *size) {
  names->finish();
  *size = names->table.size();
  return names->table.data();
}

extern "C" void ft_names_free(Names *names) { delete names; }

// Leaves of the debug information what line tables need, as if the compiler had been asked for these only.
extern "C" bool ft_keep_line_tables(LLVMModuleRef module) { return stripNonLineTableDebugInfo(*unwrap(module)); }
